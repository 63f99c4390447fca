import { randomBytes } from 'node:crypto';
import { processSecrets } from '../support/server-process.ts';
import { stepsOf } from './document.ts';
import { expectOk, runCommands, underLoad } from './service.ts';

const secrets = [
  { heading: 'Rotating the token keys', name: 'TOKEN_KEYS', fresh: () => `2:${randomBytes(32).toString('hex')}` },
  { heading: 'Rotating the secrets key', name: 'SECRETS_KEY', fresh: () => randomBytes(32).toString('base64') },
  { heading: 'Rotating the user pepper', name: 'USER_PEPPER', fresh: () => randomBytes(32).toString('hex') },
] as const;

/** Number of wraps between two steps, so that users are seen during each step. */
const wrapsPerStep = 20;

/**
 * Replaces every secret while users fetch offers, see them and wrap. No request may be rejected, and no data may become
 * unreadable.
 */
export const rotate = (): Promise<string> =>
  underLoad(async (service, users) => {
    await users.more(wrapsPerStep);
    for (const { heading, name, fresh } of secrets) {
      const values: Record<string, string> = { old: processSecrets[name], new: fresh() };
      const early = users.pixels.at(-1) as string;
      for (const step of stepsOf(heading)) {
        if ('commands' in step) process.stdout.write(await runCommands(step.commands, service.env));
        else {
          const list = step.value.split(',').map((word) => values[word] as string);
          process.stdout.write(`  ${step.variable}=${step.value}\n`);
          await service.roll({ [step.variable]: list.join(',') });
          if (list.length > 1) await expectOk(service, 'GET', early);
        }
        await users.more(wrapsPerStep);
      }
      if (service.env[name] !== values.new) throw new Error(`"${heading}" does not end with the new value`);
    }
    await runCommands('npm run --silent secrets -- status', service.env); // fails where something cannot be read
  });
