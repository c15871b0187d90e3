import { simulateBundlers } from '../testing/bundler-seeds.ts';

simulateBundlers('even');
