/** Of this program; the same as in `package.json`, which a built program cannot see. */
export const VERSION = '0.1.0';
