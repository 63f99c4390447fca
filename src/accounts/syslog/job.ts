import type pg from 'pg';
import type { SyslogSetting } from '../../config/outgoing.ts';
import type { Job } from '../../platform/jobs.ts';
import { type AuditEntry, advanceFeed, leaseFeed, readFeed, releaseFeed } from '../audit-feed.ts';
import { sendSyslog } from './send.ts';

/** Maximum number of entries per connection. */
const maxBatch = 500;

/** Lease of a batch, much longer than it takes (milliseconds). A process that dies blocks the others for that long. */
const leaseMs = 60_000;

/** Maximum size of a message (bytes). A datagram can hold 65,507 bytes, and receivers accept no more by default. */
const maxBytes = 60_000;

/** Facility 13 (log audit), severity 5 (notice). */
const priority = 13 * 8 + 5;

/**
 * Encodes an entry as a message of RFC 5424. `host` names the installation, the message id is the action, and the text
 * is the entry in JSON. If it is too long, the changes are left out and marked by `cut`; the hash is still that of the
 * whole entry.
 */
export function syslogMessageOf(entry: AuditEntry, host: string): Buffer {
  const id = entry.action.replace(/[^\x21-\x7e]/g, '_').slice(0, 32) || '-';
  const head = `<${priority}>1 ${entry.at} ${host} perkwire - ${id} - `;
  const whole = Buffer.from(head + JSON.stringify(entry));
  return whole.length <= maxBytes ? whole : Buffer.from(head + JSON.stringify({ ...entry, changes: {}, cut: true }));
}

type Sender = { pool: pg.Pool; setting: SyslogSetting; host: string; send?: typeof sendSyslog };

/**
 * Sends the unsent entries, in any process, without holding a lock meanwhile. Entries are sent again if it is unknown
 * whether they arrived; receivers can recognise them by publisher and number.
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
 * Job that sends the audit log.
 * @param host name of this installation in the messages
 */
export const syslogJob = (sender: Sender): Job => ({
  name: 'audit log to syslog',
  roles: ['worker'],
  pauseMs: 1000,
  retryMs: 10_000,
  locks: 'a lease in audit_feeds; rows of audit_feed_positions in the order of their key',
  run: async () => ((await sendToSyslog(sender)) === maxBatch ? 0 : 1000),
});
