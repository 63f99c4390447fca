/**
 * Draws the pictures of the demo catalogue into demo/images: `npx tsx demo/make-images.ts`.
 * The results are kept in the repository, so this runs only when a drawing changes.
 */
import { mkdir, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { cat, dog, petBowl } from './pictures/animals.ts';
import { ADVERTISERS, type Advertiser, COLOURS, icon } from './pictures/glyphs.ts';
import { books, bulb, cacti, openBook, plant, solarHouse, wateringCan } from './pictures/home.ts';
import { bowl, coffeeBag, crate, cup, icedGlass, stockpot } from './pictures/kitchen.ts';
import { blocks, cabin, kite, rocket, seaside, suitcase } from './pictures/outdoors.ts';
import { documentOf, type Motif, type Pattern, type Placed, paint } from './pictures/svg.ts';
import {
  bottle,
  cards,
  coins,
  headphones,
  jar,
  kettlebell,
  piggy,
  serum,
  sneaker,
  speaker,
  tube,
  vinyl,
} from './pictures/things.ts';

const IMAGES = fileURLToPath(new URL('images/', import.meta.url));
const SQUARE = 600;
const HERO = { width: 1200, height: 628 };

type Look = { colours?: readonly [string, string]; pattern?: Pattern };

const square = (advertiser: Advertiser, motif: Motif, look: Look = {}): string => {
  const [from, to] = look.colours ?? COLOURS[advertiser];
  const items = [{ motif, x: 300, y: 300, scale: 1.12 }];
  return paint({ width: SQUARE, height: SQUARE, from, to, pattern: look.pattern ?? 'confetti', disc: 0.84, items });
};

/** One large motif in the middle, others at its sides. */
const hero = (advertiser: Advertiser, main: Motif, sides: readonly [Motif, Motif], look: Look = {}): string => {
  const [from, to] = look.colours ?? COLOURS[advertiser];
  const [left, right] = sides;
  const items: Placed[] = [
    { motif: main, x: 600, y: 320, scale: 1.3 },
    { motif: left, x: 195, y: 378, scale: 0.9 },
    { motif: right, x: 1005, y: 378, scale: 0.9 },
  ];
  return paint({ ...HERO, from, to, pattern: look.pattern ?? 'confetti', disc: 0.94, items });
};

/** Icons, offer images and hero images by file name; the ending gives the format. */
const PICTURES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(ADVERTISERS.map((advertiser) => [`${advertiser}-icon.png`, icon(advertiser)])),

  'basilwick-bowl.jpg': square('basilwick', bowl, { colours: ['#ffd66b', '#f58a4b'], pattern: 'rays' }),
  'basilwick-crate.webp': square('basilwick', crate),
  'emberlark-cup.jpg': square('emberlark', cup, { colours: ['#f9b66b', '#a8452a'], pattern: 'rings' }),
  'emberlark-iced.webp': square('emberlark', icedGlass, { colours: ['#8fe0dc', '#2b94a8'], pattern: 'waves' }),
  'tidewander-seaside.jpg': documentOf(SQUARE, SQUARE, seaside(SQUARE, SQUARE)),
  'tidewander-cabin.webp': documentOf(SQUARE, SQUARE, cabin(SQUARE, SQUARE)),
  'tidewander-suitcase.webp': square('tidewander', suitcase, { pattern: 'waves' }),
  'quillmoor-books.webp': square('quillmoor', books, { pattern: 'dots' }),
  'quillmoor-night.jpg': square('quillmoor', openBook, { colours: ['#5b4fc4', '#1f1b57'] }),
  'fernhollow-plant.jpg': square('fernhollow', plant, { colours: ['#c9efc0', '#4fae8b'], pattern: 'rings' }),
  'fernhollow-cacti.webp': square('fernhollow', cacti, { colours: ['#ffe0b0', '#f29a78'], pattern: 'waves' }),
  'pawlington-dog.jpg': square('pawlington', dog, { colours: ['#8fdcf2', '#3a8fc9'], pattern: 'rays' }),
  'pawlington-cat.webp': square('pawlington', cat, { colours: ['#ffd3a5', '#f4845f'], pattern: 'dots' }),
  'striderow-sneaker.webp': square('striderow', sneaker, { colours: ['#a6e3ff', '#4b7be5'], pattern: 'rings' }),
  'striderow-kettlebell.webp': square('striderow', kettlebell, { colours: ['#ffcf71', '#f2694a'], pattern: 'rays' }),
  'glimmerleaf-serum.jpg': square('glimmerleaf', serum, { colours: ['#ffe1d6', '#eb9a96'], pattern: 'rings' }),
  'glimmerleaf-jar.webp': square('glimmerleaf', jar, { colours: ['#fbe3d0', '#d99aa5'] }),
  'brightbarrow-house.webp': square('brightbarrow', solarHouse, { colours: ['#9be3ff', '#3d9ae8'], pattern: 'waves' }),
  'brightbarrow-bulb.webp': square('brightbarrow', bulb, { colours: ['#5d8df0', '#2b3f9e'], pattern: 'rings' }),
  'hollowtune-headphones.jpg': square('hollowtune', headphones, { pattern: 'rings' }),
  'hollowtune-vinyl.webp': square('hollowtune', vinyl, { colours: ['#7ee0d0', '#2a8fb0'], pattern: 'dots' }),
  'kitewhistle-kite.webp': square('kitewhistle', kite, { colours: ['#8fdcff', '#3f86ee'], pattern: 'rays' }),
  'kitewhistle-rocket.webp': square('kitewhistle', rocket, { colours: ['#6a63d9', '#22195c'] }),
  'pennyfennel-cards.webp': square('pennyfennel', cards, { colours: ['#ffe08a', '#f7a14b'], pattern: 'rings' }),
  'pennyfennel-piggy.webp': square('pennyfennel', piggy, { pattern: 'dots' }),

  'basilwick-hero.jpg': hero('basilwick', bowl, [crate, stockpot], {
    colours: ['#ffd66b', '#f58a4b'],
    pattern: 'rays',
  }),
  'emberlark-hero.jpg': hero('emberlark', cup, [coffeeBag, icedGlass], {
    colours: ['#f9b66b', '#a8452a'],
    pattern: 'rings',
  }),
  'tidewander-hero.jpg': documentOf(HERO.width, HERO.height, seaside(HERO.width, HERO.height)),
  'tidewander-cabin-hero.webp': documentOf(HERO.width, HERO.height, cabin(HERO.width, HERO.height)),
  'quillmoor-hero.webp': hero('quillmoor', openBook, [books, headphones], { colours: ['#7a63d8', '#2a2170'] }),
  'fernhollow-hero.webp': hero('fernhollow', plant, [cacti, wateringCan], {
    colours: ['#c9efc0', '#4fae8b'],
    pattern: 'rings',
  }),
  'pawlington-hero.webp': hero('pawlington', petBowl, [dog, cat], { colours: ['#8fdcf2', '#3a8fc9'], pattern: 'dots' }),
  'striderow-hero.webp': hero('striderow', sneaker, [kettlebell, bottle], {
    colours: ['#ffc2a1', '#d94f7c'],
    pattern: 'rays',
  }),
  'glimmerleaf-hero.webp': hero('glimmerleaf', serum, [jar, tube], {
    colours: ['#ffe1d6', '#eb9a96'],
    pattern: 'rings',
  }),
  'hollowtune-hero.webp': hero('hollowtune', headphones, [vinyl, speaker], { pattern: 'waves' }),
  'kitewhistle-hero.webp': hero('kitewhistle', kite, [rocket, blocks], { colours: ['#8fdcff', '#3f6fe0'] }),
  'pennyfennel-hero.webp': hero('pennyfennel', piggy, [cards, coins], { pattern: 'dots' }),
};

const draw = async (name: string, svg: string): Promise<number> => {
  const image = sharp(Buffer.from(svg));
  const path = IMAGES + name;
  switch (extname(name)) {
    case '.png':
      await image.png({ palette: true, colours: 128, effort: 10 }).toFile(path);
      break;
    case '.jpg':
      await image.jpeg({ quality: 84, mozjpeg: true }).toFile(path);
      break;
    default:
      await image.webp({ quality: 86, effort: 6, smartSubsample: true }).toFile(path);
  }
  return (await stat(path)).size;
};

await mkdir(IMAGES, { recursive: true });
const sizes = await Promise.all(Object.entries(PICTURES).map(([name, svg]) => draw(name, svg)));
const totalBytes = sizes.reduce((sum, bytes) => sum + bytes, 0);
console.log(`${sizes.length} pictures, ${Math.round(totalBytes / 1024)} KiB`);
