#!/usr/bin/env node
console.log("annals", process.version, process.argv.slice(2))
