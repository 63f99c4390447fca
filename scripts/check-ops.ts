import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Checks `ops/` with the tools it is made for: alerts, alert tests and dashboard queries with `promtool`, the chart
 * with `helm`. Reports tools that are not installed. Run `npm run ops:check`.
 */
type Panel = { title: string; targets?: { expr: string }[] };

const scratch = mkdtempSync(join(tmpdir(), 'perkwire-ops-'));

/** Converts dashboard queries to recording rules, which promtool can check. */
function queriesAsRules(): string {
  const queries = readdirSync('ops/grafana').flatMap((name) => {
    const { panels } = JSON.parse(readFileSync(join('ops/grafana', name), 'utf8')) as { panels: Panel[] };
    return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  });
  const rules = queries.map((expr, index) => ({
    record: `query:${index}`,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
  }));
  const path = join(scratch, 'queries.yml');
  writeFileSync(path, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));
  return path;
}

const checks: { program: string; from: string; calls: () => string[][] }[] = [
  {
    program: 'promtool',
    from: 'apt-get install prometheus',
    calls: () => [
      ['check', 'rules', 'ops/prometheus/rules.yml'],
      ['test', 'rules', 'ops/prometheus/rules.test.yml'],
      ['check', 'config', '--syntax-only', 'ops/prometheus/prometheus.yml'],
      ['check', 'rules', queriesAsRules()],
    ],
  },
  {
    program: 'helm',
    from: 'https://helm.sh',
    calls: () => [['lint', '--strict', 'ops/helm/perkwire', '--values', 'ops/helm/perkwire/ci/values.yaml']],
  },
];

let failed = false;
for (const { program, from, calls } of checks) {
  if (spawnSync('which', [program]).status !== 0) {
    console.log(`${program}: skipped, because it is not installed (${from})`);
    continue;
  }
  for (const call of calls()) failed = spawnSync(program, call, { stdio: 'inherit' }).status !== 0 || failed;
}
rmSync(scratch, { recursive: true });
process.exitCode = failed ? 1 : 0;
