// Package docs holds the tests of README.md and docs: their links lead somewhere, and their
// commands do what the pages say.
package docs
