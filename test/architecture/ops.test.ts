import { expect, test } from 'vitest';
import { configSchema } from '../../src/config.ts';
import { version } from '../../src/platform/version.ts';
import { listFiles, readText } from './source.ts';

type Panel = { title: string; targets?: { expr: string }[] };

const chapter = readText('docs/monitoring.md');

/**
 * Metrics listed in the monitoring docs, including the series of histograms. Another test compares the list with the
 * metrics that are served.
 */
const series = new Set(
  [...chapter.matchAll(/^\| `(perkwire_\w+)(?:\{[\w,]+\})?` \| (\w+) \|/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
  ),
);

const dashboards = listFiles('ops/grafana/', /\.json$/);
const rules = readText('ops/prometheus/rules.yml');

test('alerts and dashboards query existing metrics', () => {
  const files = ['ops/prometheus/rules.yml', 'ops/prometheus/rules.test.yml', ...dashboards];
  const metricUses = files.flatMap((path) =>
    [...readText(path).matchAll(/\bperkwire_\w+/g)].map(([name]) => `${path}: ${name}`),
  );
  expect(metricUses.length).toBeGreaterThan(80);
  expect(metricUses.filter((use) => !series.has(use.split(' ')[1] as string))).toEqual([]);
});

test('every metric is on a dashboard', () => {
  const expressions = dashboards
    .flatMap((path) => (JSON.parse(readText(path)) as { panels: Panel[] }).panels)
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .join('\n');
  const names = new Set([...series].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  const elsewhere = ['perkwire_offers_served_total', 'perkwire_catalog_offers', 'perkwire_database_clock_skew_seconds'];
  expect([...names].filter((name) => !expressions.includes(name)).sort()).toEqual(elsewhere.sort());
});

test('monitoring.md explains exactly the existing alerts, with their meaning and remedy', () => {
  const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name);
  expect(alerts.length).toBeGreaterThan(20);
  expect([...chapter.matchAll(/^\| `(Perkwire\w+)` \| .+ \| .+ \|$/gm)].map(([, name]) => name)).toEqual(alerts);
  expect(rules.match(/runbook: docs\/monitoring\.md#alerts-and-what-to-do$/gm)).toHaveLength(alerts.length);
});

type Schema = { properties?: Record<string, Schema> };

/** Returns the paths of all values, such as `api.autoscaling.enabled`. */
const pathsOf = ({ properties = {} }: Schema): string[] =>
  Object.entries(properties).flatMap(([name, schema]) =>
    schema.properties === undefined ? [name] : pathsOf(schema).map((path) => `${name}.${path}`),
  );

test('the Helm chart uses only values in its schema and values.yaml, and existing variables', () => {
  const chart = (path: string) => readText(`ops/helm/perkwire/${path}`);
  const templates = listFiles('ops/helm/perkwire/templates/', /\.(yaml|tpl)$/)
    .map(readText)
    .join('\n');
  const paths = pathsOf(JSON.parse(chart('values.schema.json')) as Schema).filter((path) => path !== 'global');
  const validPaths = new Set(
    paths.flatMap((path) => path.split('.').map((_, at, all) => all.slice(0, at + 1).join('.'))),
  );
  const used = [...templates.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path);
  expect(used.length).toBeGreaterThan(10);
  expect(used.filter((path) => !validPaths.has(path))).toEqual([]);
  const leaf = (path: string): string => path.split('.').at(-1) as string;
  expect(paths.filter((path) => !new RegExp(`^ *${leaf(path)}:`, 'm').test(chart('values.yaml')))).toEqual([]);
  expect(paths.filter((path) => !templates.includes(leaf(path)))).toEqual([]);
  const variables = [...templates.matchAll(/name: ([A-Z_]{3,})/g)].map(([, name = '']) => name);
  expect(variables.length).toBeGreaterThan(5);
  expect(variables.filter((name) => !(name in configSchema.properties))).toEqual([]);
  expect(chart('Chart.yaml')).toContain(`appVersion: ${version}\n`);
  // All template blocks are closed.
  const opened = templates.match(/\{\{-? *(if|range|with|define)\b/g) ?? [];
  expect(templates.match(/\{\{-? *end\b/g)).toHaveLength(opened.length);
});
