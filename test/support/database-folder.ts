import { statfsSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the databases of a whole run need at a time, several times over. */
const roomyBytes = 4 * 2 ** 30;

/**
 * A new folder for a database that ends with its test: in memory where there is plenty, as on Linux, since a disk that
 * others write to makes the copy of a database ten times as expensive (85 against 880 ms of processor time).
 */
export async function databaseFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(isRoomy('/dev/shm') ? '/dev/shm' : tmpdir(), prefix));
  await chmod(folder, 0o755); // as root, the database runs as another user, who must get in
  return folder;
}

function isRoomy(memoryFolder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return Math.min(bavail * bsize, process.availableMemory()) > roomyBytes;
  } catch {
    return false; // macOS has none
  }
}
