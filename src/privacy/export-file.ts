import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createPacer } from '../platform/lib/slices.ts';

/** Rows of a person, by kind; one kind is read after the other. */
export type PersonalData = ReadonlyMap<string, AsyncIterable<Record<string, unknown>[]>>;

/** What stands before and after the data in the file. */
export type Envelope = { before: string; after: string };

/** Writes the data as JSON to a file, in place of what is in it. */
export const writeJson = (path: string, data: PersonalData, envelope: Envelope): Promise<void> =>
  writeFile(path, toJson(data, envelope), { mode: 0o600 });

/** A row is a line. `complete`: for callers of when an export held 2,000 rows of a kind at most. */
async function* toJson(data: PersonalData, { before, after }: Envelope): AsyncGenerator<string> {
  const pause = createPacer();
  yield `${before}{"complete":true`;
  for (const [kind, slices] of data) {
    yield `,\n${JSON.stringify(kind)}:[`;
    let separator = '\n';
    for await (const rows of slices) {
      let text = '';
      for (const row of rows) {
        text += separator + JSON.stringify(row);
        separator = ',\n';
        await pause();
      }
      yield text;
    }
    yield ']';
  }
  yield `}${after}\n`;
}

/** What `write` writes to a file. It has no name any more when it is read, and nothing stays of it afterwards. */
export async function throughFile(write: (path: string) => Promise<void>): Promise<Readable> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-export-'));
  try {
    const path = join(folder, 'person.json');
    await write(path);
    return (await open(path)).createReadStream();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
