import { createPacer } from '../../platform/lib/slices.ts';
import { type MetricName, type Metrics, metricNames, sumOf } from '../metrics.ts';

/** Report row: one value for each group dimension, and the metrics. */
export type Line = { group: readonly (string | number)[]; metrics: Metrics };

/** Parses a dimension value from its JSON text. */
export type GroupReader = (json: string) => string | number;

/** Creates a dimension value parser that caches its results, because values repeat. */
export function groupReader(): GroupReader {
  const cache = new Map<string, string | number>();
  return (json) => {
    let value = cache.get(json);
    if (value === undefined) {
      value = JSON.parse(json) as string | number;
      cache.set(json, value);
    }
    return value;
  };
}

/** Length of text that is parsed at once, about a thousand lines. */
const charactersAtOnce = 30_000;

/** Parses report lines in slices, so that tens of thousands of lines do not delay other requests. */
export async function readLinesInSlices(...[lines, readGroup, names]: Parameters<typeof readLines>): Promise<Line[]> {
  const pace = createPacer();
  const read: Line[] = [];
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf('\n', from + charactersAtOnce);
    const to = end === -1 ? lines.length : end;
    for (const line of readLines(lines.slice(from, to), readGroup, names)) read.push(line);
    from = to + 1;
    await pace();
  }
  return read;
}

const noMetrics: Metrics = sumOf([]);

const [minus, zero, tab, space] = [45, 48, 9, 32];

/**
 * Parses report lines. Each line contains the metrics in the order of `names`, separated by commas, followed by a tab
 * and a JSON value for each dimension. All other metrics are 0. Reports have tens of thousands of lines, so numbers are
 * parsed digit by digit, which is ten times as fast as splitting the lines.
 */
export function readLines(lines: string, readGroup: GroupReader, names: readonly MetricName[] = metricNames): Line[] {
  let at = 0;
  /**
   * Returns the number at the current position and moves past the separator that follows it. All separators have a
   * lower character code than `0`.
   */
  const next = (): number => {
    let value = 0;
    const isNegative = lines.charCodeAt(at) === minus;
    if (isNegative) at += 1;
    for (let code = lines.charCodeAt(at++); code >= zero; code = lines.charCodeAt(at++))
      value = value * 10 + code - zero;
    return isNegative ? -value : value;
  };
  const groups = (): (string | number)[] => {
    const group: (string | number)[] = [];
    while (lines.charCodeAt(at - 1) === tab) {
      const from = at;
      while (lines.charCodeAt(at) >= space) at += 1;
      group.push(readGroup(lines.slice(from, at)));
      at += 1;
    }
    return group;
  };
  const read: Line[] = [];
  while (at < lines.length) {
    const metrics: Metrics = { ...noMetrics };
    for (const name of names) metrics[name] = next();
    read.push({ group: groups(), metrics });
  }
  return read;
}
