import { expect, test } from 'vitest';
import { listFiles, readText } from './source.ts';

type Panel = { title: string; targets?: { expr: string }[] };

const chapter = readText('docs/operations.md');

/** The listed metrics, which a test compares with what is served, with the series of histograms. */
const series = new Set(
  [...chapter.matchAll(/^\| `(perkwire_\w+)(?:\{[\w,]+\})?` \| (\w+) \|/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
  ),
);

const dashboards = listFiles('ops/grafana/', /\.json$/);
const rules = readText('ops/prometheus/rules.yml');

test('alerts and dashboards ask for metrics that exist', () => {
  const files = ['ops/prometheus/rules.yml', 'ops/prometheus/rules.test.yml', ...dashboards];
  const asked = files.flatMap((path) =>
    [...readText(path).matchAll(/\bperkwire_\w+/g)].map(([name]) => `${path}: ${name}`),
  );
  expect(asked.length).toBeGreaterThan(80);
  expect(asked.filter((one) => !series.has(one.split(' ')[1] as string))).toEqual([]);
});

test('every metric is on a dashboard', () => {
  const shown = dashboards
    .flatMap((path) => (JSON.parse(readText(path)) as { panels: Panel[] }).panels)
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .join('\n');
  const names = new Set([...series].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  const elsewhere = ['perkwire_offers_served_total', 'perkwire_catalog_offers', 'perkwire_database_clock_skew_seconds'];
  expect([...names].filter((name) => !shown.includes(name)).sort()).toEqual(elsewhere.sort());
});

test('operations.md says of every alert what it means and what to do, and of no other', () => {
  const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name);
  expect(alerts.length).toBeGreaterThan(20);
  expect([...chapter.matchAll(/^\| `(Perkwire\w+)` \| .+ \| .+ \|$/gm)].map(([, name]) => name)).toEqual(alerts);
  expect(rules.match(/runbook: docs\/operations\.md#alerts-and-what-to-do$/gm)).toHaveLength(alerts.length);
});
