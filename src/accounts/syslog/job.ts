import type pg from 'pg';
import type { SyslogSetting } from '../../config/outgoing.ts';
import type { Job } from '../../platform/jobs.ts';
import { type AuditEntry, advanceFeed, leaseFeed, readFeed, releaseFeed } from '../audit-feed.ts';
import { sendSyslog } from './send.ts';

/** Maximum number of entries per connection. */
const maxBatch = 500;

/**
 * Lease duration for a batch, in milliseconds. It is much longer than sending takes. If a process dies, other processes
 * cannot send until its lease has expired.
 */
const leaseMs = 60_000;

/**
 * Maximum message size, in bytes. A UDP datagram can contain 65,507 bytes, and receivers do not accept more by default.
 */
const maxBytes = 60_000;

/** Syslog priority: facility 13 (log audit), severity 5 (notice). */
const priority = 13 * 8 + 5;

/**
 * Encodes an audit log entry as an RFC 5424 message. `host` identifies the installation, the message ID is the action,
 * and the text is the entry as JSON. If the message is too long, the list of changes is omitted and `cut` is set. The
 * hash still covers the whole entry.
 */
export function syslogMessageOf(entry: AuditEntry, host: string): Buffer {
  const id = entry.action.replace(/[^\x21-\x7e]/g, '_').slice(0, 32) || '-';
  const head = `<${priority}>1 ${entry.at} ${host} perkwire - ${id} - `;
  const whole = Buffer.from(head + JSON.stringify(entry));
  return whole.length <= maxBytes ? whole : Buffer.from(head + JSON.stringify({ ...entry, changes: {}, cut: true }));
}

type Sender = { pool: pg.Pool; setting: SyslogSetting; host: string; send?: typeof sendSyslog };

/**
 * Sends the unsent entries. Any process may send, and no database lock is held while sending. Entries are sent again if
 * it is unknown whether they arrived. Receivers can detect duplicates by publisher and number.
 * @returns the number of entries, or null if another process is sending
 * @throws Error if the receiver does not accept them
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

/**
 * Creates the job that sends the audit log to syslog.
 * @param host host name of this installation in the messages
 */
export const syslogJob = (sender: Sender): Job => ({
  name: 'audit log to syslog',
  roles: ['worker'],
  pauseMs: 1000,
  retryMs: 10_000,
  locks: 'a lease in audit_feeds; rows of audit_feed_positions in the order of their key',
  run: async () => ((await sendToSyslog(sender)) === maxBatch ? 0 : 1000),
});
