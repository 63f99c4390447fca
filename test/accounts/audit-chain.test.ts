import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, createManagementModules, type ManagementModules } from '../catalog/resources/support.ts';
import { runCommand } from '../command-line/support.ts';

let t: ManagementModules;
let publishers: { id: number; call: Caller['call'] }[];
beforeAll(async () => {
  t = await createManagementModules(['accounts']);
  publishers = await Promise.all(
    [1, 2].map(async () => {
      const id = await t.addPublisher();
      return { id, call: (await t.caller(id)).call };
    }),
  );
});
afterAll(() => t?.close());

const run = (...args: string[]) => runCommand(['audit', ...args], { DATABASE_URL: t.databaseUrl });
const verdict = async (...args: string[]) => {
  const { code, out } = await run('verify', ...args);
  return { code, problems: out.split('\n').filter((line) => /^publisher|not in the log/.test(line)) };
};
const whole = { code: 0, problems: [] };

/** Tampers with the audit log as someone with write access to the database could, and restores it afterwards. */
async function tamper(change: string, look: () => Promise<void>): Promise<void> {
  await t.pool.query('create table kept as select * from audit_log');
  await t.pool.query(change);
  try {
    await look();
  } finally {
    await t.pool.query('alter table audit_log disable trigger chain_audit_entry');
    await t.pool.query('delete from audit_log');
    await t.pool.query('insert into audit_log overriding system value select * from kept');
    await t.pool.query('alter table audit_log enable trigger chain_audit_entry');
    await t.pool.query('drop table kept');
  }
}

const entriesOf = async (id: number): Promise<number[]> => {
  const { rows } = await t.pool.query<{ number: string }>(
    'select number from audit_log where publisher_id = $1 order by number',
    [id],
  );
  return rows.map(({ number }) => Number(number));
};

test("chains each publisher's entries without gaps, even with concurrent writers", async () => {
  await Promise.all(
    publishers.flatMap(({ call }) =>
      Array.from({ length: 12 }, (_, at) => call('POST', '/advertisers', { name: `Advertiser ${at}` })),
    ),
  );
  for (const { id } of publishers) {
    const numbers = await entriesOf(id);
    expect(numbers.length).toBeGreaterThanOrEqual(12);
    expect(numbers).toEqual(numbers.map((_, at) => at + 1));
  }
  expect(await verdict()).toEqual(whole);
});

test('reports a changed or missing entry, and a truncated end if the last entry is known', async () => {
  const id = publishers[0]?.id as number;
  const last = (await entriesOf(id)).length;
  const { out } = await run('verify');
  const lastEntry = out.split('\n').find((line) => line.startsWith(`${id}:${last}:`)) as string;
  expect(await verdict('--known', lastEntry)).toEqual(whole);
  const inLog = `publisher_id = ${id} and number`;

  await tamper(`update audit_log set actor_label = 'somebody else' where ${inLog} = 3`, async () =>
    expect(await verdict()).toEqual({ code: 1, problems: [`publisher ${id}, entry 3: changed`] }),
  );
  await tamper(`update audit_log set changes = '{}' where ${inLog} = 1`, async () =>
    expect(await verdict()).toEqual({ code: 1, problems: [`publisher ${id}, entry 1: changed`] }),
  );
  await tamper(`delete from audit_log where ${inLog} = 5`, async () =>
    expect(await verdict()).toEqual({ code: 1, problems: [`publisher ${id}, entry 6: entries before it are lost`] }),
  );
  await tamper(`delete from audit_log where ${inLog} = ${last}`, async () => {
    expect(await verdict()).toEqual(whole);
    expect(await verdict('--known', lastEntry)).toEqual({
      code: 1,
      problems: [`${lastEntry}: not in the log, or changed`],
    });
  });
  expect(await verdict('--known', lastEntry)).toEqual(whole);
});

test('exports all entries, or those of one publisher after a given entry', async () => {
  const id = publishers[0]?.id as number;
  const read = async (...args: string[]) =>
    (await run('export', ...args)).out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { publisher_id: number; number: string; hash: string });
  const all = await read();
  const { rows } = await t.pool.query('select count(*)::int as count from audit_log');
  expect(all).toHaveLength(rows[0].count);
  const own = all.filter(({ publisher_id }) => publisher_id === id);
  expect(await read('--publisher', String(id), '--after', '4')).toEqual(own.slice(4));
  expect((await run('export', '--after', '4')).code).toBe(2);
  expect((await run('verify', '--known', 'seven')).code).toBe(2);
});
