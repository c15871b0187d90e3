import { simulateBundlers } from '../testing/bundler-simulation/bundler-seeds.ts';

simulateBundlers('odd');
