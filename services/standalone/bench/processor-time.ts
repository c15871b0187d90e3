import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Processor time of all threads of a process since its start; 0 if the system has no /proc. */
export const processorMs = (pid: number | undefined): number => {
  const fields = statOf(pid);
  return (Number(fields[USER_TICKS] ?? 0) + Number(fields[SYSTEM_TICKS] ?? 0)) * MS_PER_TICK;
};

/** The same including child processes. */
export const processorMsWithChildren = (pid: number | undefined): number => {
  const ended = [ENDED_USER_TICKS, ENDED_SYSTEM_TICKS].map((at) => Number(statOf(pid)[at] ?? 0) * MS_PER_TICK);
  const children = processes().filter((other) => statOf(other)[PARENT] === String(pid));
  return [processorMs(pid), ...ended, ...children.map(processorMsWithChildren)].reduce((sum, ms) => sum + ms, 0);
};

/** Current memory of a process, in megabytes; 0 if the system has no /proc. */
export const residentMb = (pid: number | undefined): number => memoryMb(pid, 'VmRSS');

/** The most memory that a process has had. */
export const peakMb = (pid: number | undefined): number => memoryMb(pid, 'VmHWM');

const memoryMb = (pid: number | undefined, line: 'VmRSS' | 'VmHWM'): number => {
  const file = `/proc/${String(pid)}/status`;
  if (pid === undefined || !existsSync(file)) return 0;
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0) / 1_024;
};

/** The fields after the program's name. */
const statOf = (pid: number | undefined): string[] => {
  const file = `/proc/${String(pid)}/stat`;
  if (pid === undefined || !existsSync(file)) return [];
  return readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? [];
};

const processes = (): number[] =>
  existsSync('/proc') ? readdirSync('/proc').map(Number).filter(Number.isInteger) : [];

const PARENT = 1;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
/** Of children that have ended. */
const ENDED_USER_TICKS = 13;
const ENDED_SYSTEM_TICKS = 14;
const MS_PER_TICK = 10;
