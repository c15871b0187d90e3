/** Returns the settings that a program prints for a shell, each as a line `export NAME=value`. */
export const exportedSettings = (printed: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(printed.matchAll(/^export (\w+)=(.*)$/gm), ([, name = '', value = '']) => [name, value] as const),
  );
