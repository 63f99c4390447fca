import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readJsonFile } from '../../src/command-line/api.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perkwire-catalogue-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function read(text: string): Promise<unknown> {
  const file = join(folder, 'catalogue.json');
  await writeFile(file, text);
  return readJsonFile({ stdin: Readable.from([]) }, file);
}

test('reads a catalogue file with or without a byte order mark, and names a file that is not JSON', async () => {
  expect(await read('{"a":1}')).toEqual({ a: 1 });
  expect(await read('\uFEFF{"a":1}')).toEqual({ a: 1 });
  await expect(read('{"a":1')).rejects.toThrow(/catalogue\.json is not valid JSON/);
});
