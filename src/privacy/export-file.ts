import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createPacer } from '../platform/lib/slices.ts';

/** A user's personal data: rows by kind. Only one kind is read at a time. */
export type PersonalData = ReadonlyMap<string, AsyncIterable<Record<string, unknown>[]>>;

/** Text before and after the data in an export file. */
export type Envelope = { before: string; after: string };

/** Writes the data to a file as JSON. Overwrites the file. */
export const writeJson = (path: string, data: PersonalData, envelope: Envelope): Promise<void> =>
  writeFile(path, toJson(data, envelope), { mode: 0o600 });

/**
 * Yields JSON with one row per line. `complete` exists for old API clients, because exports used to be limited to 2,000
 * rows per kind.
 */
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

/**
 * Calls `write` with the path of a temporary file, and returns a stream of what it wrote. The file is unlinked before
 * it is read, so that it leaves no trace.
 */
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
