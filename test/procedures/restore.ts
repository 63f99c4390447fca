import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { createImageStore, saveOriginal } from '../../src/catalog-admin/images.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { commandsOf } from './document.ts';
import { programPath, startMachine } from './machine.ts';
import {
  addEndpoint,
  expectOk,
  openPool,
  runCommands,
  startNewService,
  startService,
  startUsers,
  verifyReports,
} from './service.ts';

/**
 * Restores a backup of a service under load on a second machine, which then continues. Earlier beacons are known, the
 * image exists, no data from the backup is lost, and reports are exact.
 */
export async function restore(): Promise<string> {
  const [backup, ...rest] = commandsOf('Backup and restore');
  const media = await mkdtemp(join(tmpdir(), 'perkwire-backup-'));
  const [first, second] = [await startMachine(), await startMachine()];
  const env = (machine: { url: string; folder: string }) => ({
    DATABASE_URL: machine.url,
    IMAGE_STORE: join(media, machine === first ? 'images-1' : 'images-2'),
    PATH: programPath(),
  });
  const pool = openPool(first.url);
  const service = await startNewService(first.url, pool, env(first));
  const receiver = await addEndpoint(service, pool);
  const users = startUsers(service);
  const later = openPool(second.url);
  try {
    const path = await addImage(pool, env(first).IMAGE_STORE);
    const image = await expectOk(service, 'GET', path);
    await users.more(100);
    const snapshot = { wrapped: [...users.wrapped], pixels: [...users.pixels] };
    await runCommands(backup as string, env(first), media);
    await users.more(20);
    await users.stop();
    await service.stop();
    for (const commands of rest) await runCommands(commands, env(second), media);
    const restored = await startService(second.url, env(second));
    try {
      await expectOk(restored, 'GET', snapshot.pixels.at(-1) as string);
      if (!(await expectOk(restored, 'GET', path)).equals(image)) throw new Error('the image differs');
      const after = startUsers(restored);
      await after.more(100);
      await after.stop();
      const { rows } = await later.query<{ id: string }>('select session_id as id from usp_sessions');
      const storedIds = new Set(rows.map(({ id }) => id));
      const lost = snapshot.wrapped.filter((id) => !storedIds.has(id)).length;
      if (lost > 0) throw new Error(`${lost} wraps of before the backup are lost`);
      const report = await verifyReports(restored, later);
      return `${snapshot.wrapped.length} wraps of before and ${after.wrapped.length} after; ${report}`;
    } finally {
      await restored.stop();
    }
  } finally {
    await users.stop().catch(() => {});
    receiver.close();
    await Promise.all([pool.end(), later.end()]);
    await Promise.all([first.close(), second.close()]);
    await rm(media, { recursive: true, force: true });
  }
}

/** @returns the path of an image that is stored in a folder */
async function addImage(pool: pg.Pool, folder: string): Promise<string> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into creatives (offer_id, creative_type, type, width, height)
    values ((select min(id) from offers), 'offer_image', 'png', 60, 40) returning id`,
  );
  const id = rows[0]?.id as number;
  await saveOriginal(pool, createImageStore({ kind: 'folder', path: folder }), id, await drawStripes(60, 40));
  return `/images/${id}.png?width=30`;
}
