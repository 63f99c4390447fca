import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Returns text that distinguishes a process from a later one with the same PID. It includes the start time if the
 * system provides it. Returns `undefined` if no such process is running. These also count as not running:
 * - zombies, because in a container they may never be reaped
 * - exiting processes, whose command line is no longer available
 */
export async function processIdentity(pid: number): Promise<string | undefined> {
  if (!signalReaches(pid)) return undefined;
  if (process.platform === 'win32') return 'alive';
  if (process.platform === 'linux') return linuxIdentity(pid);
  return askPs(pid, 'lstart=');
}

/**
 * Returns the command line of a process, with arguments separated by spaces. Returns `undefined` if it is not
 * available.
 */
export async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined;
  if (process.platform !== 'linux') return askPs(pid, 'command=');
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return text.replaceAll('\0', ' ');
}

/** Returns the line that identifies this process in a lock file. */
export async function ownerLine(): Promise<string> {
  return `${process.pid} ${await processIdentity(process.pid)}\n`;
}

/**
 * Whether the process that wrote the line is still running under the same PID. If the line is truncated, the process is
 * assumed to be dead.
 */
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

/** Flag PF_EXITING in the process flags of proc(5). */
const endingFlag = 0x4;

async function linuxIdentity(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // Skip the command name, which is in parentheses and may contain spaces. The remaining fields start with the state
  // (field 3 of proc(5)).
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
