import type pg from 'pg';
import type { Config } from '../../config.ts';
import { readSystem } from '../../dashboard/system-state.ts';
import { clockLimitMs, clockWarningMs } from '../../platform/db/health.ts';
import { missingMigrations } from '../../platform/db/migrate.ts';
import { findSecretProblem, findTokenKeyProblem } from '../../platform/security/canary.ts';
import { createSecretBox } from '../../platform/security/secret-box.ts';
import { checkTargets } from '../../webhooks/check-targets.ts';

/** Result of a check. `fix` tells the operator how to solve the problem. */
export type Finding = { check: string; state: 'good' | 'warning' | 'bad'; text: string; fix?: string };

/** Timeout for a request to the service's own public URL, in milliseconds. */
const answerLimitMs = 5000;

/** Checks whether the service responds at its public URL. */
export async function checkAddress({ publicUrl }: Config): Promise<Finding> {
  const check = 'Public URL';
  const { protocol, hostname } = new URL(publicUrl);
  const isLocal = /^(localhost|127\.|\[::1\])/.test(hostname);
  try {
    const answer = await fetch(`${publicUrl}/health/ready`, { signal: AbortSignal.timeout(answerLimitMs) });
    if (!answer.ok)
      return { check, state: 'bad', text: `${publicUrl} is not ready (${answer.status})`, fix: 'Check its log.' };
  } catch (err) {
    const { code = (err as Error).message } = ((err as Error).cause ?? {}) as { code?: string };
    const fix = 'Start the service, or correct PUBLIC_URL.';
    return { check, state: 'warning', text: `${publicUrl} did not respond (${code})`, fix };
  }
  if (protocol === 'http:' && !isLocal)
    return {
      check,
      state: 'warning',
      text: `${publicUrl} does not use https`,
      fix: 'Pages on https cannot use it. Add a TLS proxy, and set PUBLIC_URL to https://…',
    };
  return { check, state: 'good', text: `${publicUrl} is ready` };
}

/** Yields the results of all database checks. Stops early if the schema does not exist yet. */
export async function* checkDatabase(pool: pg.Pool, config: Config): AsyncGenerator<Finding> {
  const missing = await missingMigrations(pool);
  if (missing.length > 0) {
    const fix = 'Start the service, or run it once with ROLES=migrate.';
    yield { check: 'Database', state: 'warning', text: `reachable; pending migrations: ${missing.length}`, fix };
    return;
  }
  yield { check: 'Database', state: 'good', text: 'reachable, writable, all migrations applied' };
  yield await checkClock(pool);
  yield await checkKeys(pool, config);
  yield* checkProcesses(pool);
  yield* checkEndpoints(pool, config);
}

async function checkClock(pool: pg.Pool): Promise<Finding> {
  const check = 'Clocks';
  const sentMs = Date.now();
  const { rows } = await pool.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  const halfMs = (Date.now() - sentMs) / 2;
  const offMs = Math.max(0, Math.abs((rows[0]?.ms ?? 0) - (sentMs + halfMs)) - halfMs);
  const text = `this machine and the database differ by ${Math.round(offMs)} ms`;
  if (offMs <= clockWarningMs) return { check, state: 'good', text };
  return { check, state: offMs > clockLimitMs ? 'bad' : 'warning', text, fix: 'Synchronise both clocks with NTP.' };
}

async function checkKeys(pool: pg.Pool, config: Config): Promise<Finding> {
  const check = 'Keys';
  const box = createSecretBox(config.secretsKey, config.earlierSecretsKeys);
  const problem =
    (await findSecretProblem(pool, box, [config.userPepper, ...config.earlierPeppers])) ??
    (await findTokenKeyProblem(pool, config.tokenKeys));
  if (problem !== null) return { check, state: 'bad', text: problem };
  return { check, state: 'good', text: 'TOKEN_KEYS, SECRETS_KEY and USER_PEPPER match the database' };
}

async function* checkProcesses(pool: pg.Pool): AsyncGenerator<Finding> {
  const check = 'Processes';
  const { processes } = await readSystem(pool, Date.now());
  const running = processes.filter(({ isRunning }) => isRunning);
  for (const role of ['api', 'worker']) {
    const count = running.filter(({ roles }) => roles.includes(role)).length;
    const lacks = role === 'worker' ? 'webhooks are not sent' : 'requests are not served';
    yield count > 0
      ? { check, state: 'good', text: `role ${role}: ${count} running` }
      : {
          check,
          state: 'warning',
          text: `role ${role}: none running, ${lacks}`,
          fix: 'Start a process with this role.',
        };
  }
}

async function* checkEndpoints(pool: pg.Pool, config: Config): AsyncGenerator<Finding> {
  const check = 'Endpoints';
  const rules = { allowHttp: config.webhookAllowHttp, allowNets: config.webhookAllowNets };
  const { checked, unusable } = await checkTargets(pool, rules);
  if (unusable.length === 0)
    yield { check, state: 'good', text: `${checked} enabled, all resolve to allowed addresses` };
  for (const { endpointId, publisherId, host, problem } of unusable)
    yield {
      check,
      state: 'bad',
      text: `endpoint ${endpointId} of publisher ${publisherId} at ${host}: ${problem}`,
      fix: 'Correct its DNS entry or URL. For private networks, see WEBHOOK_ALLOW_NETS and WEBHOOK_ALLOW_HTTP.',
    };
}
