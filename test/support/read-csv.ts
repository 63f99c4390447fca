import { parse } from 'csv-parse/sync';

/** Rows of a CSV file that Perkwire has written. */
export const readCsv = (text: string): string[][] => parse(text, { bom: true });
