import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import { type Loop, startLoop } from '../platform/lib/loop.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { claimErasure, endErasure, endFirstSweep, renewErasure } from './erasures.ts';
import type { UserDataSteps } from './steps.ts';
import { addCounts, type Sweep, sweepUser } from './sweep.ts';

export type ErasureDeps = Pick<PlatformDeps, 'pool' | 'config' | 'logger' | 'secretBox' | 'now'> & {
  userData: UserDataSteps;
};

const sealContext = 'erasure-subject';

export const sealSubject = (box: SecretBox, identifier: string): Buffer => box.seal(identifier, sealContext);

/**
 * Runs one sweep of an erasure that is due.
 * @returns false when none is due
 */
export async function eraseNext({ pool, config, secretBox, now, userData }: ErasureDeps): Promise<boolean> {
  const erasure = await claimErasure(pool, now());
  if (erasure === null) return false;
  const { id, publisherId, namedBy, userKey } = erasure;
  const sweep: Sweep = {
    erasureId: id,
    subject: { publisherId, namedBy, userKey, identifier: secretBox.open(erasure.subjectSealed, sealContext) },
    until: erasure.requestedAt,
    isSecond: erasure.sweptAt !== null,
    nowMs: now(),
  };
  let { counts } = erasure;
  await sweepUser({ pool, userKeys: createUserKeys(config.userPepper), userData }, sweep, async (erased) => {
    counts = addCounts(counts, erased);
    await renewErasure(pool, erasure, counts, now());
  });
  await (sweep.isSecond ? endErasure : endFirstSweep)(pool, erasure, now());
  return true;
}

/** How often a worker looks for erasures (milliseconds). */
const pollMs = 1000;

/** Erases users on request. Any number of workers share the erasures. */
export function startErasureJob(deps: ErasureDeps): Loop {
  return startLoop(async (isStopped) => {
    try {
      while (!isStopped() && (await eraseNext(deps)));
    } catch (err) {
      // Database health is logged elsewhere; an interrupted sweep is claimed again when its lease has expired.
      if (isDatabaseUnavailable(err)) deps.logger.debug({ err }, 'erasures wait for the database');
      else deps.logger.error({ err }, 'erasure failed; it is retried after its lease');
    }
    return pollMs;
  });
}
