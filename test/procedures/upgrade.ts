import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stepsOf } from './document.ts';
import { runCommands, underLoad } from './service.ts';

/** Migration of a later release, which adds a column. */
const nextMigration = 'alter table publishers add column of_the_next_release text;\n';

/** Creates a checkout of the next release, which is this build with one more migration. */
async function makeNextRelease(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-next-'));
  for (const name of ['dist', 'migrations', 'assets', 'demo', 'scripts', 'src', 'packages', 'package.json'])
    await cp(name, join(folder, name), { recursive: true, preserveTimestamps: true });
  for (const name of ['node_modules', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
    await symlink(resolve(name), join(folder, name));
  await writeFile(join(folder, 'migrations/9999-next-release.sql'), nextMigration);
  await writeFile(join(folder, 'dist/.built'), ''); // it is built already
  return folder;
}

/** Replaces this release with the next one under load, and back again. No request may be rejected, and no data lost. */
export async function upgrade(): Promise<string> {
  const next = await makeNextRelease();
  try {
    return await underLoad(async (service, users) => {
      await users.more(40);
      for (const step of stepsOf('Upgrading and rolling back')) {
        process.stdout.write(`  ${'commands' in step ? step.commands : step.variable}\n`);
        if ('commands' in step) {
          await runCommands(step.commands, service.env, next);
          await users.more(40); // this release on the schema of the next
          await service.roll({}, next);
        } else {
          await failsToStart(service.env);
          await service.roll({ [step.variable]: step.value });
        }
        await users.more(40);
      }
    });
  } finally {
    await rm(next, { recursive: true, force: true });
  }
}

/** Checks that without the variable, this release refuses to start on the newer schema, with a clear message. */
async function failsToStart(env: Record<string, string>): Promise<void> {
  const printed = await runCommands('ROLES=migrate node dist/server.js 2>&1 || true', env);
  if (!printed.includes('newer than this release (it has 9999-next-release.sql)'))
    throw new Error(`an old release started on a newer schema: ${printed}`);
}
