import type pg from 'pg';
import type { SyslogSetting } from '../../config/outgoing.ts';
import type { Job } from '../../platform/jobs.ts';
import { type AuditEntry, advanceFeed, leaseFeed, readFeed, releaseFeed } from '../audit-feed.ts';
import { sendSyslog } from './send.ts';

/** Entries of one connection (count). */
const maxBatch = 500;

/** Longest time of a batch, with much to spare (milliseconds). A process that dies holds up the others so long. */
const leaseMs = 60_000;

/** A datagram takes 65,507 bytes, and receivers take no more by default. */
const maxBytes = 60_000;

/** Facility 13 (log audit), severity 5 (notice). */
const priority = 13 * 8 + 5;

/**
 * An entry as a message of RFC 5424: `host` names the installation, the message id is the action, and the text is the
 * entry in JSON. Of one too long the changes are left out, and `cut` says so: its hash is that of the whole.
 */
export function syslogMessageOf(entry: AuditEntry, host: string): Buffer {
  const id = entry.action.replace(/[^\x21-\x7e]/g, '_').slice(0, 32) || '-';
  const head = `<${priority}>1 ${entry.at} ${host} perkwire - ${id} - `;
  const whole = Buffer.from(head + JSON.stringify(entry));
  return whole.length <= maxBytes ? whole : Buffer.from(head + JSON.stringify({ ...entry, changes: {}, cut: true }));
}

type Sender = { pool: pg.Pool; setting: SyslogSetting; host: string; send?: typeof sendSyslog };

/**
 * Sends the entries that were not sent yet, whichever process does it; no lock is held meanwhile. Entries are sent
 * again where nobody knows whether they arrived: their publisher and number tell.
 * @returns how many; null: another process is sending
 * @throws Error when the receiver does not take them
 */
export async function sendToSyslog({ pool, setting, host, send = sendSyslog }: Sender): Promise<number | null> {
  if (!(await leaseFeed(pool, 'syslog', leaseMs))) return null;
  let error: string | null = null;
  try {
    const entries = await readFeed(pool, 'syslog', { limit: maxBatch, reader: 'operator' });
    if (entries.length === 0) return 0;
    await send(
      setting,
      entries.map((entry) => syslogMessageOf(entry, host)),
    );
    await advanceFeed(pool, 'syslog', entries);
    return entries.length;
  } catch (err) {
    error = (err as Error).message;
    throw err;
  } finally {
    await releaseFeed(pool, 'syslog', error);
  }
}

/** @param host name of this installation in the messages */
export const syslogJob = (sender: Sender): Job => ({
  name: 'audit log to syslog',
  roles: ['worker'],
  pauseMs: 1000,
  retryMs: 10_000,
  locks: 'a lease in audit_feeds; rows of audit_feed_positions in the order of their key',
  run: async () => ((await sendToSyslog(sender)) === maxBatch ? 0 : 1000),
});
