import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { runFacts } from '../report.ts';

const file = new URL('../results/webhooks.md', import.meta.url);

/** Formats a Markdown table. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * Prints the results of a benchmark part. At full scale, it also replaces the part's section in the results file, where
 * `titles` defines the section order.
 */
export async function keepSection(
  title: string,
  text: string,
  { scale, titles }: { scale: number; titles: readonly string[] },
): Promise<void> {
  const section = `## ${title}\n\n${runFacts(`all on one machine · scale ${scale}`)}\n\n${text}\n`;
  process.stdout.write(`${section}\n`);
  if (scale < 1) return;
  const before = (await readFile(file, 'utf8').catch(() => '')).split(/^(?=## )/m).slice(1);
  const sections = titles.flatMap((sectionTitle) =>
    sectionTitle === title
      ? [section]
      : before.filter((old) => old.startsWith(`## ${sectionTitle}\n`)).map((old) => `${old.trimEnd()}\n`),
  );
  await mkdir(new URL('.', file), { recursive: true });
  await writeFile(file, ['# bench:webhooks\n', ...sections].join('\n'));
}
