"""Say a word to a child process that may be gone."""

import asyncio


async def say(process: asyncio.subprocess.Process, line: bytes) -> bool:
    """Write one line to its standard input; False if it no longer listens."""
    pipe = process.stdin
    if pipe is None or pipe.is_closing():
        return False
    try:
        pipe.write(line)
        await pipe.drain()
    except (BrokenPipeError, ConnectionResetError, RuntimeError):
        return False  # uvloop raises RuntimeError on a pipe that the other end has closed
    return True


def hang_up(process: asyncio.subprocess.Process) -> None:
    """Close its standard input, which keeper and sampler take as the word to stop."""
    if process.stdin is not None:
        process.stdin.close()
