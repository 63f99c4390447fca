/**
 * Type declaration for the data in the package, which has no types of its own. Each entry is the regular expression for
 * one known bot, in PCRE syntax without flags.
 */
declare module 'node-device-detector/regexes/bots.js' {
  const robots: readonly { regex: string; name: string }[];
  export = robots;
}
