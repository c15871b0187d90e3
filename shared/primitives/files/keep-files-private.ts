/**
 * Makes files and folders that this process creates from now on (stores, keys, a local chain) readable by its user
 * alone.
 */
export const keepFilesPrivate = (): void => {
  process.umask(0o077);
};
