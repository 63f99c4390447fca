// Renders an SVG from standard input to a PNG on standard output. Runs as a separate process.
// Exit codes: 3 if the image is too large, with its size as JSON on standard output; 4 if it is broken.
// Kills itself after the timeout, because the parent process may no longer be running.
import sharp from 'sharp';

const [maxSide, maxPixels, timeoutMs] = process.argv.slice(2).map(Number);
setTimeout(() => process.kill(process.pid, 'SIGKILL'), timeoutMs).unref();

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const svg = Buffer.concat(chunks);
try {
  const { width, height } = await sharp(svg, { limitInputPixels: false }).metadata();
  if (width > maxSide || height > maxSide || width * height > maxPixels) {
    process.stdout.write(JSON.stringify({ width, height }));
    process.exitCode = 3;
  } else {
    process.stdout.write(await sharp(svg, { limitInputPixels: maxPixels, failOn: 'error' }).png().toBuffer());
  }
} catch {
  process.exitCode = 4;
}
