import type { Resource, Warning } from '../../../management/resource.ts';
import { problem } from '../../../platform/problem.ts';
import type { FileRow } from './parse.ts';

/** Maximum number of URL warnings in a response. */
const maxWarnings = 100;

/** Returns warnings about macros in URLs, with their paths in the file. */
export function warnOfFileUrls(list: Iterable<readonly [Resource, FileRow]>): Warning[] {
  const warnings: Warning[] = [];
  let omitted = 0;
  for (const [kind, { values, path: at }] of list)
    for (const { path, message } of kind.warnOfUrls?.(values) ?? []) {
      if (warnings.length < maxWarnings) warnings.push({ path: at + path, message });
      else omitted++;
    }
  if (omitted > 0) warnings.push({ path: '/', message: problem('moreUrlWarnings', { count: omitted }) });
  return warnings;
}
