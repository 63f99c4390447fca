import { open, rename, stat } from 'node:fs/promises';

const tailBytes = 8_192;
const tailLines = 20;
const rotateBytes = 10 * 1024 * 1024;

/** Returns up to 20 of the last lines that the server logged after a byte offset. */
export async function logTail(file: string, fromByte: number): Promise<string> {
  const handle = await open(file, 'r').catch(() => undefined);
  if (handle === undefined) return '';
  try {
    const { size } = await handle.stat();
    const start = Math.max(fromByte, size - tailBytes);
    const buffer = Buffer.alloc(Math.max(0, size - start));
    await handle.read(buffer, 0, buffer.length, start);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-tailLines).join('\n');
  } finally {
    await handle.close();
  }
}

/** Returns the size of the server log, in bytes. If it exceeds 10 MB, the file is first renamed to `<file>.1`. */
export async function rotateLog(file: string): Promise<number> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0;
  if (size <= rotateBytes) return size;
  await rename(file, `${file}.1`);
  return 0;
}
