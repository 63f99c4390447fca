import { parse } from 'csv-parse/sync';

/** Returns the rows of a CSV file written by Perkwire. */
export const readCsv = (text: string): string[][] => parse(text, { bom: true });
