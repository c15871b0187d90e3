import { existsSync, readFileSync } from 'node:fs';

/** Of all threads of a process since its start; 0 where the system has no /proc. */
export const processorMs = (pid: number | undefined): number => {
  const file = `/proc/${String(pid)}/stat`;
  if (pid === undefined || !existsSync(file)) return 0;
  const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * MS_PER_TICK;
};
/** Places behind the name of the program. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
const MS_PER_TICK = 10;
