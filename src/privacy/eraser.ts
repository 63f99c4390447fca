import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import { type Loop, startLoop } from '../platform/lib/loop.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { sweep } from './erase.ts';
import { claimErasure, type ErasureCounts, endSweep, renewErasure } from './erasures.ts';

type EraserDeps = Pick<PlatformDeps, 'pool' | 'config' | 'logger' | 'secretBox' | 'now'>;

const context = 'erasure-subject';

export const sealSubject = (box: SecretBox, identifier: string): Buffer => box.seal(identifier, context);

/**
 * Does what is due of one erasure: its first sweep, or the second.
 * @returns false when nothing is due
 */
export async function eraseNext({ pool, config, secretBox, now }: EraserDeps): Promise<boolean> {
  const erasure = await claimErasure(pool, now());
  if (erasure === null) return false;
  const { id, publisherId, namedBy, userKey } = erasure;
  const identifier = secretBox.open(erasure.subjectSealed, context);
  const work = {
    erasureId: id,
    subject: { publisherId, namedBy, userKey, identifier },
    until: erasure.requestedAt,
    isSecond: erasure.sweptAt !== null,
    nowMs: now(),
  };
  let counts: Partial<ErasureCounts> = erasure.counts;
  await sweep(pool, createUserKeys(config.userPepper), work, async (done) => {
    counts = added(counts, done);
    await renewErasure(pool, erasure, counts, now());
  });
  await endSweep(pool, erasure, now());
  return true;
}

function added(counts: Partial<ErasureCounts>, done: ErasureCounts): ErasureCounts {
  const sum = { ...done };
  for (const name of Object.keys(sum) as (keyof ErasureCounts)[]) sum[name] += counts[name] ?? 0;
  return sum;
}

/** How often a worker looks for erasures (milliseconds). */
const pollMs = 1000;

/** The worker's part in erasures. Any number of workers share them. */
export function startEraser(deps: EraserDeps): Loop {
  return startLoop(async (isStopped) => {
    try {
      while (!isStopped() && (await eraseNext(deps)));
    } catch (err) {
      // A store that is away is said elsewhere; what was begun goes on when its lease has ended.
      if (isDatabaseUnavailable(err)) deps.logger.debug({ err }, 'erasures wait for the database');
      else deps.logger.error({ err }, 'an erasure failed; it is tried again when its lease has ended');
    }
    return pollMs;
  });
}
