import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0005_workers'),
        ('regressions', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedule',
            name='against',
            field=models.CharField(choices=[('newest', 'Newest'), ('approved', 'Approved'), ('pinned', 'Pinned'), ('rolling', 'Rolling')], default='newest', max_length=10),
        ),
        migrations.AddField(
            model_name='firing',
            name='overrides',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='firing',
            name='version',
            field=models.CharField(blank=True, default='', max_length=80),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name='firing',
            constraint=models.UniqueConstraint(condition=models.Q(('version', ''), _negated=True), fields=('schedule', 'version'), name='one_firing_of_a_version'),
        ),
        migrations.AlterField(
            model_name='baselinerecord',
            name='kind',
            field=models.CharField(choices=[('first', 'First'), ('pinned', 'Pinned'), ('accepted', 'Accepted'), ('approved', 'Approved'), ('rolling', 'Rolling')], max_length=8),
        ),
        migrations.AlterField(
            model_name='watch',
            name='better',
            field=models.CharField(blank=True, choices=[('less', 'less'), ('more', 'more')], max_length=6),
        ),
        migrations.CreateModel(
            name='Bisection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('metric', models.CharField(max_length=120)),
                ('versions', models.JSONField()),
                ('overrides', models.JSONField()),
                ('old_level', models.FloatField()),
                ('new_level', models.FloatField()),
                ('state', models.CharField(choices=[('running', 'running'), ('found', 'found'), ('unclear', 'unclear')], default='running', max_length=10)),
                ('answer', models.JSONField(null=True)),
                ('asked_by', models.CharField(max_length=150)),
                ('asked_at', models.DateTimeField(auto_now_add=True)),
                ('finding', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bisections', to='regressions.finding')),
            ],
        ),
        migrations.CreateModel(
            name='BisectionStart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=80)),
                ('number', models.PositiveIntegerField()),
                ('note', models.TextField(blank=True)),
                ('bisection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='starts', to='regressions.bisection')),
                ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.study')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('bisection', 'version', 'number'), name='one_start_of_a_bisection')],
            },
        ),
        migrations.CreateModel(
            name='LookBack',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('week', models.DateField()),
                ('starts', models.PositiveIntegerField()),
                ('points', models.JSONField()),
                ('drift', models.JSONField(null=True)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('watch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='looks_back', to='regressions.watch')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('watch', 'week'), name='one_look_back_a_week')],
            },
        ),
    ]
