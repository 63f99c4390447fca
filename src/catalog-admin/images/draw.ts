import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Size } from './parameters.ts';

/** Result of rendering an SVG: the image, its dimensions if the image would be too large, or another problem. */
export type Drawn = { png: Buffer } | { tooLarge: Size } | { problem: 'broken' | 'slow' | 'heavy' };

export type DrawingLimits = {
  /** Maximum width or height of the rendered image, in pixels. */
  maxSide: number;
  /** Maximum number of pixels in the rendered image. */
  maxPixels: number;
  /** Maximum file size of the PNG, in bytes. */
  maxBytes: number;
  /** Timeout for rendering, including the start of the process, in milliseconds. */
  timeoutMs: number;
};

const program = fileURLToPath(new URL('../../../assets/draw-svg.mjs', import.meta.url));
/** Exit codes of the rendering process. */
const tooLargeCode = 3;
const brokenCode = 4;

/**
 * Returns the environment variables for the rendering process. The configuration is left out because it contains
 * secrets.
 */
const environment = (): NodeJS.ProcessEnv => {
  const names = ['PATH', 'HOME', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE'];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
};

/**
 * Renders an SVG as a PNG in a separate process. A few hundred bytes of SVG filters can keep the renderer busy for
 * minutes, and rendering can be stopped only by killing its process.
 */
export function drawSvg(svg: Buffer, { maxSide, maxPixels, maxBytes, timeoutMs }: DrawingLimits): Promise<Drawn> {
  const args = [program, ...[maxSide, maxPixels, timeoutMs].map(String)];
  const child = spawn(process.execPath, args, { env: environment(), stdio: ['pipe', 'pipe', 'ignore'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) child.kill('SIGKILL');
    else chunks.push(chunk);
  });
  child.stdin.on('error', () => {}); // The process may exit before it has read its input; the exit code tells why.
  child.stdin.end(svg);
  return new Promise<Drawn>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const output = Buffer.concat(chunks);
      if (code === 0 && bytes <= maxBytes) resolve({ png: output });
      else if (code === tooLargeCode) resolve({ tooLarge: JSON.parse(output.toString()) as Size });
      else if (bytes > maxBytes) resolve({ problem: 'heavy' });
      else if (code === null) resolve({ problem: 'slow' });
      else if (code === brokenCode) resolve({ problem: 'broken' });
      else reject(new Error(`${program} ended with ${code}`));
    });
  }).finally(() => clearTimeout(timer));
}
