import { open, rename, stat } from 'node:fs/promises';

const tailBytes = 8_192;
const tailLines = 20;
const rotateBytes = 10 * 1024 * 1024;

/** Last lines, at most 20, that the server wrote after the given byte of its log. */
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

/** Size of the log in bytes. A log over 10 MB is first renamed to `<file>.1`. */
export async function rotateLog(file: string): Promise<number> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0;
  if (size <= rotateBytes) return size;
  await rename(file, `${file}.1`);
  return 0;
}
