import { defaultsOf, type Values } from '../../management/resource.ts';
import { checkValue } from '../../management/schema-errors.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { experiments } from './experiments.ts';

/** Returns the validation errors of a new experiment. Nothing is saved. */
export async function draftErrors(work: Work, values: Values): Promise<ErrorDetail[]> {
  const draft = { ...defaultsOf(experiments), ...experiments.prepare?.(values) };
  const errors = checkValue(experiments.input, draft);
  return errors.length > 0 ? errors : ((await experiments.check?.(draft, work, null)) ?? []);
}

/** Returns the key itself if it is not in use, or else with the first free number as its suffix. */
export async function freeKey({ executor, publisherId }: Work, key: string): Promise<string> {
  const { rows } = await executor.query<{ key: string }>(
    `select key from experiments where publisher_id = $1 and (key = $2 or starts_with(key, $2 || '-'))`,
    [publisherId, key],
  );
  const used = new Set(rows.map((row) => row.key));
  if (!used.has(key)) return key;
  let suffix = 2;
  while (used.has(`${key}-${suffix}`)) suffix += 1;
  return `${key}-${suffix}`;
}
