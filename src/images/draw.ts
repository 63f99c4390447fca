import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Size } from './parameters.ts';

/** What became of a drawing: its picture, its size where that is too much, or what else was wrong. */
export type Drawn = { png: Buffer } | { tooLarge: Size } | { problem: 'broken' | 'slow' | 'heavy' };

export type DrawingLimits = {
  /** Of one side (pixels). */
  maxSide: number;
  /** In all (count). */
  maxPixels: number;
  /** Of the PNG (bytes). */
  maxBytes: number;
  /** From the start of the process to the picture (milliseconds). */
  timeoutMs: number;
};

/** Exit codes of the program below. */
const tooLargeCode = 3;
const brokenCode = 4;

/** Ends itself, too, in case nobody is left to end it. */
const program = `
const [sharpUrl, maxSide, maxPixels, timeoutMs] = process.argv.slice(1);
setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(timeoutMs)).unref();
const { default: sharp } = await import(sharpUrl);
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const svg = Buffer.concat(chunks);
try {
  const { width, height } = await sharp(svg, { limitInputPixels: false }).metadata();
  if (width > maxSide || height > maxSide || width * height > maxPixels) {
    process.stdout.write(JSON.stringify({ width, height }));
    process.exitCode = ${tooLargeCode};
  } else process.stdout.write(await sharp(svg, { limitInputPixels: Number(maxPixels), failOn: 'error' }).png().toBuffer());
} catch {
  process.exitCode = ${brokenCode};
}`;

/** Nothing of the configuration, which holds secrets. */
const environment = (): NodeJS.ProcessEnv => {
  const names = ['PATH', 'HOME', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
};

/**
 * Draws an SVG as a PNG, in a process of its own: a few hundred bytes of filters can keep the renderer busy for minutes, and only
 * a process can be ended in the middle of that.
 */
export function drawSvg(svg: Buffer, { maxSide, maxPixels, maxBytes, timeoutMs }: DrawingLimits): Promise<Drawn> {
  const sharpUrl = pathToFileURL(createRequire(import.meta.url).resolve('sharp')).href;
  const args = ['--input-type=module', '-e', program, sharpUrl, String(maxSide), String(maxPixels), String(timeoutMs)];
  const child = spawn(process.execPath, args, { env: environment(), stdio: ['pipe', 'pipe', 'ignore'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) child.kill('SIGKILL');
    else chunks.push(chunk);
  });
  child.stdin.on('error', () => {}); // ended before it had read everything; its exit says why
  child.stdin.end(svg);
  return new Promise<Drawn>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const output = Buffer.concat(chunks);
      if (code === 0 && bytes <= maxBytes) resolve({ png: output });
      else if (code === tooLargeCode) resolve({ tooLarge: JSON.parse(output.toString()) as Size });
      else if (bytes > maxBytes) resolve({ problem: 'heavy' });
      else resolve({ problem: code === null ? 'slow' : 'broken' });
    });
  }).finally(() => clearTimeout(timer));
}
