import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Identifies a process, to distinguish it from a later one with the same pid: by its start time if the system provides
 * it. `undefined` if no such process runs. A zombie counts as dead, because it may never be reaped in a container; so
 * does an ending process, whose command line the system no longer provides.
 */
export async function processIdentity(pid: number): Promise<string | undefined> {
  if (!signalReaches(pid)) return undefined;
  if (process.platform === 'win32') return 'alive';
  if (process.platform === 'linux') return linuxIdentity(pid);
  return askPs(pid, 'lstart=');
}

/** Command line with arguments separated by spaces; `undefined` if the system does not provide it. */
export async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined;
  if (process.platform !== 'linux') return askPs(pid, 'command=');
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return text.replaceAll('\0', ' ');
}

/** Line that identifies this process in a lock file. */
export async function ownerLine(): Promise<string> {
  return `${process.pid} ${await processIdentity(process.pid)}\n`;
}

/** Whether the process that wrote the line still runs with that pid. A truncated line was left by a dead process. */
export async function isOwnerAlive(line: string): Promise<boolean> {
  const match = /^(\d+) (.+)\n$/.exec(line);
  return match !== null && (await processIdentity(Number(match[1]))) === match[2];
}

function signalReaches(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** PF_EXITING, in the flags of proc(5). */
const endingFlag = 0x4;

async function linuxIdentity(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The command name is in parentheses and may contain spaces; the fields after it start with the state (field 3 of
  // proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const isEnding = (Number(fields[6]) & endingFlag) !== 0;
  if (fields[0] === 'Z' || fields[0] === 'X' || isEnding) return undefined;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return `${boot.trim()}:${fields[19]}`;
}

async function askPs(pid: number, column: string): Promise<string | undefined> {
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const { stdout } = await run('ps', ['-ww', '-o', column, '-p', String(pid)], { env }).catch(() => ({ stdout: '' }));
  return stdout.trim() || undefined;
}
