import { exitCodes, idOption, type Run, usageError } from '../../command-line/command.ts';
import { inDatabase } from '../../command-line/open-database.ts';
import { jsonText } from '../../command-line/output.ts';
import type { Executor } from '../../platform/db/pool.ts';

/** Number of entries per query. */
const pageSize = 5000;

/** Entry that was changed, or whose predecessor is missing. */
type Broken = { publisher_id: number; number: string; problem: 'changed' | 'entries before it are lost' };
type Last = { publisher_id: number; number: string; hash: string };

/**
 * Verifies the hash chain of each publisher's audit log (docs/operations.md#audit-log). Prints the last entry of each
 * log. Store that entry elsewhere to be able to prove later that no earlier entry was changed or lost. Exits with
 * status 1 if verification fails.
 */
export const verifyAudit: Run = async (call) => {
  const { options, out } = call;
  const trustedEntry = options.known === undefined ? null : readKnown(String(options.known));
  const { broken, last, isKnown } = await inDatabase(call, {
    name: 'perkwire-audit',
    work: async (client) => ({
      broken: (await client.query<Broken>(brokenSql)).rows,
      last: (await client.query<Last>(lastSql)).rows,
      isKnown: trustedEntry === null || (await hasEntry(client, trustedEntry)),
    }),
  });
  out.data({ broken, last, ...(trustedEntry !== null && { known: isKnown }) });
  for (const { publisher_id, number, problem } of broken)
    out.line(`publisher ${publisher_id}, entry ${number}: ${problem}`);
  if (!isKnown) out.line(`${options.known}: not in the log, or changed`);
  for (const { publisher_id, number, hash } of last) out.line(`${publisher_id}:${number}:${hash}`);
  const isWhole = broken.length === 0 && isKnown;
  out.line(isWhole ? 'The audit log is intact.' : 'The audit log was modified.');
  return isWhole ? exitCodes.ok : exitCodes.problem;
};

const brokenSql = `
select publisher_id, number, case when number <> place then 'entries before it are lost' else 'changed' end as problem
from (
  select publisher_id, number, hash, 1 + lag(number, 1, 0::bigint) over chain as place,
    audit_hash(lag(hash, 1, ''::bytea) over chain, log) as own_hash
  from audit_log log
  window chain as (partition by publisher_id order by number)
) checked
where number <> place or hash <> own_hash
order by publisher_id, number limit 100`;

const lastSql = `
select distinct on (publisher_id) publisher_id, number, encode(hash, 'hex') as hash
from audit_log order by publisher_id, number desc`;

type TrustedEntry = { publisherId: number; number: number; hash: string };

function readKnown(text: string): TrustedEntry {
  const match = /^(\d{1,9}):(\d{1,15}):([0-9a-f]{8,64})$/.exec(text);
  if (match === null) throw usageError('--known must have the form 7:120:9f86d081, as audit verify prints it.');
  const [, publisherId, number, hash] = match;
  return { publisherId: Number(publisherId), number: Number(number), hash: String(hash) };
}

async function hasEntry(executor: Executor, { publisherId, number, hash }: TrustedEntry): Promise<boolean> {
  const { rows } = await executor.query(
    `select 1 from audit_log where publisher_id = $1 and number = $2 and starts_with(encode(hash, 'hex'), $3)`,
    [publisherId, number, hash],
  );
  return rows.length > 0;
}

/** Prints audit log entries as JSON lines (docs/operations.md#audit-log). */
export const exportAudit: Run = async (call) => {
  const { out } = call;
  const [publisher, after] = [idOption(call, 'publisher'), idOption(call, 'after')];
  if (after !== null && publisher === null) throw usageError('--after requires --publisher.');
  await inDatabase(call, {
    name: 'perkwire-audit',
    work: async (client) => {
      let from: Place = { publisher_id: publisher ?? 0, number: String(after ?? 0) };
      for (;;) {
        const { rows } = await client.query<Place>(pageSql, [from.publisher_id, from.number, publisher, pageSize]);
        for (const entry of rows)
          if (out.isJson) out.data(entry);
          else out.line(jsonText(entry));
        const last = rows.at(-1);
        if (last === undefined) return;
        from = last;
      }
    },
  });
  return exitCodes.ok;
};

type Place = { publisher_id: number; number: string };

const pageSql = `
select publisher_id, number, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource, resource_id,
  changes, encode(hash, 'hex') as hash
from audit_log
where (publisher_id, number) > ($1, $2) and ($3::integer is null or publisher_id = $3)
order by publisher_id, number limit $4`;
