import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/platform/errors.ts';
import type { LayoutOptions } from '../../../src/platform/files/layout.ts';
import type { FileFormat } from '../../../src/platform/files/names.ts';
import { openDelimitedFile } from '../../../src/platform/files/open.ts';
import { type FileRecord, parseRecords, type Separator, separators } from '../../../src/platform/files/parse.ts';
import type { Problem } from '../../../src/platform/problem.ts';

const list: FileFormat<'id' | 'hash' | 'ends'> = {
  columns: { id: ['customer_id', 'Kunden-Nr.'], hash: ['sha256_email'], ends: ['expires_at'] },
  identifiers: ['id', 'hash'],
  patterns: { hash: /^[0-9a-f]{64}$/ },
};
const table: FileFormat<'offer_id' | 'text'> = {
  columns: { offer_id: [], text: [] },
  otherColumn: (name) => (/^[a-z]{2}$/.test(name) ? name : null),
  required: ['offer_id', 'text'],
};

type ReadOptions = Partial<LayoutOptions> & { format?: FileFormat<string> };

async function read(source: string | Buffer, { format = list as FileFormat<string>, ...options }: ReadOptions = {}) {
  const layoutOptions = { header: null, column: null, ...options };
  const { layout, batches } = await openDelimitedFile(Buffer.from(source as string), format, layoutOptions);
  const rows: { line: number; cells: readonly string[]; problem: Problem | null }[] = [];
  for await (const batch of batches) rows.push(...batch.map(({ line, cells, problem }) => ({ line, cells, problem })));
  return { layout, rows, cells: rows.map(({ cells }) => cells), problems: rows.map(({ problem }) => problem) };
}

const refusal = async (source: string | Buffer, options: ReadOptions = {}): Promise<string> => {
  const err: unknown = await read(source, options).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(err instanceof AppError)) throw new Error(`expected a refusal: ${String(err)}`);
  return `${err.code} ${err.message} ${JSON.stringify(err.details ?? [])}`;
};

describe('one separator applies to the whole file', () => {
  test.each([
    [
      'id;amount\nu1;12,50\nu2;3',
      ';',
      [
        ['u1', '12,50'],
        ['u2', '3'],
      ],
    ],
    ['id\tamount\r\nu1\t12,50;x', '\t', [['u1', '12,50;x']]],
    [
      'id,note\nu1,a;b;c\nu2,d;e;f',
      ',',
      [
        ['u1', 'a;b;c'],
        ['u2', 'd;e;f'],
      ],
    ],
    ['sep=;\r\nid;note\r\nu1;a,b', ';', [['u1', 'a,b']]],
    ['"sep=,"\nid,note\nu1,x', ',', [['u1', 'x']]],
    ['amount;id\n1,5;u1', ';', [['1,5', 'u1']]],
    ['id\nu1\nu2', null, [['u1'], ['u2']]],
  ])('%j', async (text, separator, cells) => {
    const file = await read(text);
    expect([file.layout.separator, file.cells]).toEqual([separator, cells]);
  });

  test('a row with an unquoted separator is rejected in a single-column file', async () => {
    const { problems } = await read('id\nu1\nu2,x\nu3;y\nu4\tz\n"u5,x"');
    expect(problems.map((problem) => problem !== null)).toEqual([false, true, true, true, false]);
    expect((await read('id,n\nu1,2,3')).problems.map(String)[0]).toContain('3 fields');
  });

  test('empty trailing columns are ignored', async () => {
    expect((await read('u1;;\nu2;;\nu3;;')).cells).toEqual([['u1'], ['u2'], ['u3']]);
    expect((await read('id,note\nu1,,,\n,,\nu2,')).cells).toEqual([['u1'], ['u2']]);
  });

  test('unsupported separators are reported rather than guessed', async () => {
    expect(await refusal('customer_id|amount\nu1|5')).toContain('Unsupported separator "|"');
    expect(await refusal('sep=|\nid|amount')).toContain('comma, semicolon or tab');
  });
});

describe('lines and quotes follow RFC 4180', () => {
  test.each([
    ['CRLF', 'id,n\r\n1,a\r\n2,b\r\n'],
    ['LF', 'id,n\n1,a\n2,b'],
    ['CR', 'id,n\r1,a\r2,b\r'],
    ['mixed line endings', 'id,n\r\n1,a\n2,b\r'],
    ['a byte order mark', '\uFEFFid,n\n1,a\n2,b'],
    ['blank lines', '\n\nid,n\n\n1,a\n  \n2,b\n\n'],
    ['quoted fields', '"id","n"\n"1","a"\n"2","b"'],
  ])('%s', async (_kind, text) => {
    expect((await read(text)).cells).toEqual([
      ['1', 'a'],
      ['2', 'b'],
    ]);
  });

  test('quoted values keep separators, quotes and line breaks, and lines are still counted', async () => {
    const { rows } = await read('id,n\n1,"a, ""b""\r\nc"\n\n2,d');
    expect(rows).toEqual([
      { line: 2, cells: ['1', 'a, "b"\r\nc'], problem: null },
      { line: 5, cells: ['2', 'd'], problem: null },
    ]);
  });

  test('an unclosed quote that spans lines is rejected', async () => {
    expect(await refusal('id,n\n1,"a\n2,b\n3,c')).toContain('/lines/2');
    const { problems } = await read('id,n\n1,"a\n2,"b\n3,c');
    expect(String(problems[0])).toContain('does not end until line 3');
    expect(await refusal('offer_id,text,de\n1,title,5" x', { format: table })).toContain('/lines/2');
    expect(await refusal('offer_id,text,de\n1,title,"a" b', { format: table })).toContain('/lines/2');
  });

  test.each(['utf16le', 'swap'] as const)('UTF-16 is converted (%s)', async (kind) => {
    for (const mark of ['\uFEFF', '']) {
      const bytes = Buffer.from(`${mark}id\tn\r\nMüller\tü\r\n`, 'utf16le');
      const file = await read(kind === 'swap' ? bytes.swap16() : bytes);
      expect([file.layout.separator, file.cells]).toEqual(['\t', [['Müller', 'ü']]]);
    }
  });

  test.each([
    ['504b030414000600', 'workbook'],
    ['d0cf11e0a1b11ae1', 'workbook'],
    ['255044462d312e37', 'PDF'],
    ['1f8b080000000000', 'gzip'],
    ['fffe0000690000006400', 'UTF-32'],
    [Buffer.from('<!DOCTYPE html><p>Sign in').toString('hex'), 'HTML'],
  ])('other file types are reported: %s', async (hex, name) => {
    expect(await refusal(Buffer.from(hex, 'hex'))).toContain(name);
  });
});

describe('the header', () => {
  test.each(['id', 'ID', ' Customer ID ', 'customer-id', 'Kunden-Nr.', 'KUNDENNR'])(
    '%s is recognised',
    async (name) => {
      expect((await read(`${name};x\nu1;2`)).layout).toMatchObject({
        hasHeader: true,
        columns: [{ role: 'id' }, { role: null }],
      });
    },
  );

  test.each([
    'Rabatt\nE1\nE2',
    'Loyalty number\n123\n456',
    'some_key\nabc\ndef',
    'Mail\na@b.example\nc@d.example',
    'Key\nABCD\nEFGH\nIJKL\nMNOP',
  ])('is ambiguous if the first value differs in kind from the others: %j', async (text) => {
    const error = await refusal(text);
    expect(error).toMatch(/^ambiguous_header/);
    expect(error).toContain('/lines/1');
    expect((await read(text, { header: 'present' })).layout.hasHeader).toBe(true);
    expect((await read(text, { header: 'absent' })).rows[0]?.line).toBe(1);
  });

  test.each(['u1\nu2', 'WELCOME\nSUMMER', '4711', '1\nA1\nB2'])('is optional in a list: %j', async (text) => {
    expect((await read(text)).layout.hasHeader).toBe(false);
  });

  test('is rejected if no column has a known name, unless the call specifies a column', async () => {
    for (const text of ['Nr;Amount\n1;2', 'u1,5\nu2,6', 'email,name\na@b.example,A'])
      expect(await refusal(text)).toMatch(/^unknown_header/);
    expect((await read('Nr;Amount\n1;2', { column: 'nr' })).layout).toMatchObject({ hasHeader: true });
    expect((await read('x,u1\ny,u2', { column: '2' })).layout).toMatchObject({
      hasHeader: false,
      columns: [{ role: null }, { role: 'id' }],
    });
    expect(await refusal('u1,5\nu2,6', { column: '3' })).toContain('2 columns');
    expect(await refusal('u1,5\nu2,6', { column: 'other' })).toContain('No column');
    expect(await refusal('name,1\nu2,6', { column: '1' })).toMatch(/^ambiguous_header/);
  });

  test('is ambiguous if two columns contain the same value', async () => {
    expect(await refusal('id,customer_id\n1,2')).toMatch(/^ambiguous_header/);
    expect(await refusal('id,expires_at,expires_at\n1,,')).toMatch(/^ambiguous_header/);
    expect((await read('id,customer_id\n1,2', { column: 'customer_id' })).layout.columns[1]?.role).toBe('id');
  });

  test('hashes are not mistaken for IDs', async () => {
    const text = `${'a1'.repeat(32)}\n${'b2'.repeat(32)}`;
    expect(await refusal(text)).toContain('?column=hash');
    expect((await read(text, { column: 'sha256_email' })).layout.columns[0]?.role).toBe('hash');
    expect((await read(text, { column: 'id' })).layout.columns[0]?.role).toBe('id');
  });

  test('a table needs all of its columns', async () => {
    expect(await refusal('offer_id;de\n1;x', { format: table })).toContain('/columns/text');
    expect(await refusal('', { format: table })).toContain('/columns/offer_id');
    expect((await read('', {})).rows).toEqual([]);
    expect(
      (await read('Text,Offer ID,de\ntitle,1,x', { format: table })).layout.columns.map(({ role }) => role),
    ).toEqual([...['text', 'offer_id', 'de']]);
  });

  test('a repeated header is not counted as a row', async () => {
    expect((await read('id,n\n1,2\nid,n\n3,4')).problems).toEqual([null, 'The row repeats the header.', null]);
  });
});

async function parsed(text: string, separator: readonly Separator[], chunkBytes: number): Promise<FileRecord[]> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const records: FileRecord[] = [];
  for await (const batch of parseRecords(chunks(), { separator, isStrict: false })) records.push(...batch);
  return records;
}

test('lines before and after the first quote are read in the same way, wherever the chunks end', () => {
  const parts = fc.array(fc.constantFrom('a', 'ü', ' ', ',', ';', '\n', '\r\n', '\n\n', '\r', '\0'), {
    maxLength: 200,
  });
  const separator = fc.constantFrom<readonly Separator[]>(separators, [','], [';']);
  return fc.assert(
    fc.asyncProperty(parts, separator, fc.integer({ min: 1, max: 40 }), async (texts, either, chunkBytes) => {
      const text = texts.join('');
      const [, ...afterQuote] = await parsed(`"x"\n${text}`, either, chunkBytes);
      const shifted = afterQuote.map((record) => ({ ...record, line: record.line - 1 }));
      expect(await parsed(text, either, chunkBytes)).toEqual(shifted);
    }),
  );
});

test.each([
  ['columns', ','.repeat(3_000_000)],
  ['fields in a row', `id,n\n1${',2'.repeat(1_500_000)}`],
  ['quotes', '"'.repeat(3_000_000)],
  ['characters in one line', 'x'.repeat(3_000_000)],
  ['characters in a quoted field', `id\n"${'x'.repeat(3_000_000)}`],
  ['line feeds', '\n'.repeat(3_000_000)],
])('three million %s are rejected or read as empty', async (_kind, text) => {
  const result = await read(text).then(
    ({ rows }) => rows.length,
    (err: AppError) => err.code,
  );
  expect([0, 'invalid_request']).toContain(result);
});
