import { type Command, flag, text } from '../command-line/command.ts';
import { fileOptions } from '../command-line/file-options.ts';

/** CLI commands for managing the coupon codes of offers. */
export const couponCommands: readonly Command[] = [
  {
    name: 'coupons add',
    args: 'OFFER [FILE]',
    about: 'Adds coupon codes to an offer: from a file, from a pattern, or one code for all users',
    options: {
      pattern: text('TEXT', 'generates codes: # is a digit, ? a letter, * either'),
      count: text('N', 'number of codes to generate'),
      shared: text('CODE', 'one code for all users'),
      ...fileOptions({ isList: true }),
    },
    callsService: true,
    examples: ['coupons add 12 codes.csv --dry-run', "coupons add 12 --pattern 'SPRING-********' --count 500"],
    load: async () => (await import('./commands/coupons.ts')).addCoupons,
  },
  {
    name: 'coupons show',
    args: 'OFFER',
    about: 'Counts the codes of an offer; exits with 1 if the stock is low',
    options: {},
    callsService: true,
    examples: ['coupons show 12', 'coupons show 12 --json'],
    load: async () => (await import('./commands/coupons.ts')).showCoupons,
  },
  {
    name: 'coupons list',
    about: 'Lists the coupon pools of all offers; exits with 1 if one is empty or expired',
    options: { state: text('STATE', 'only pools that are expired, empty, low, expiring or available') },
    callsService: true,
    examples: ['coupons list', 'coupons list --state low --json'],
    load: async () => (await import('./commands/coupons.ts')).listCoupons,
  },
  {
    name: 'coupons remove',
    args: 'OFFER',
    about: 'Removes the codes of an offer that no user has, or its whole pool',
    options: { pool: flag('removes the whole pool; users keep their codes') },
    callsService: true,
    examples: ['coupons remove 12', 'coupons remove 12 --pool'],
    load: async () => (await import('./commands/coupons.ts')).removeCoupons,
  },
];
