// A program: draws the SVG on its standard input as a PNG on its standard output. Exit codes: 3, too large (its size as
// JSON
// instead); 4, broken. It ends itself when its time is up, because nobody else may be left to do so.
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
