import type { Executor } from './pool.ts';

/** Rows that are read at once (count): a few milliseconds of work. */
const sliceSize = 500;

/** Rows of a statement, slice by slice, by a cursor: in a transaction, which reads one such statement at a time. */
export async function* readSlices<Row extends object = Record<string, unknown>>(
  executor: Executor,
  text: string,
  values: unknown[],
): AsyncGenerator<Row[]> {
  await executor.query(`declare slices no scroll cursor for ${text}`, values);
  for (;;) {
    const { rows } = await executor.query(`fetch ${sliceSize} from slices`);
    if (rows.length > 0) yield rows as Row[];
    if (rows.length < sliceSize) break;
  }
  await executor.query('close slices');
}
